// What a script finds in its world besides the language. Runs before the script, and keeps what it needs of the language from changes
// that the script makes to it. Whatever a script breaks here it breaks for itself: the daemon checks all that it is asked.
(function (callTools, logLine, input) {
    'use strict';
    const { parse, stringify } = JSON;
    const { isArray } = Array;
    const { isFinite, isInteger } = Number;
    const { defineProperty, getPrototypeOf, keys } = Object;
    const plain = Object.prototype;
    const { apply } = Reflect;
    const { toWellFormed } = String.prototype;
    const text = String;
    const MOST = 100, MOST_PARALLEL = 32, PARALLEL = 8;

    const failure = (code, message) => ({ ok: false, error: { code, message } });

    const shown = (value) => {
        try {
            return text(value);
        } catch {
            return 'something that has no text';
        }
    };

    // Whether JSON has no words for a value, or others: a promise that nobody awaited becomes {}, NaN becomes null.
    const isLost = (value, holder, isOutermost) => {
        switch (typeof value) {
            case 'object': {
                const parent = value === null || isArray(value) ? plain : getPrototypeOf(value);
                return parent !== plain && parent !== null;
            }
            case 'number':
                return !isFinite(value);
            case 'undefined':
                return isArray(holder);
            case 'function':
            case 'symbol':
                return !isOutermost;
            default:
                return false;
        }
    };

    // A value as JSON; null where something of it would be lost.
    const writtenWhole = (value) => {
        let isOutermost = true, isWhole = true;
        const json = stringify(value, function (name, part) {
            isWhole &&= !isLost(part, this, isOutermost);
            isOutermost = false;
            return part;
        });
        return isWhole ? json : null;
    };

    // A call as JSON, each of its members as it stands there: what they say is for the daemon to judge. A failure if it is no data.
    const written = (call) => {
        if (call === null || typeof call !== 'object' || isArray(call)) {
            return failure('INVALID_ARGS', 'the call is not an object {server, tool, args}');
        }
        let members = '';
        const names = keys(call);
        for (let i = 0; i < names.length; i += 1) {
            const name = names[i];
            let value, json;
            try {
                value = call[name];
                json = writtenWhole(value);
            } catch (error) {
                return failure('SERIALIZATION_ERROR', `"${name}" cannot be written as JSON: ${shown(error)}`);
            }
            if (json === null) {
                return failure('INVALID_ARGS', `"${name}" is not plain data: JSON cannot represent a part of it, such as a function, a Map, NaN, or a promise without await`);
            } else if (json !== undefined) {
                members += `${members && ','}${stringify(name)}:${json}`;
            } else if (value !== undefined) {
                return failure('INVALID_ARGS', `"${name}" is not data`);
            }
        }
        return `{${members}}`;
    };

    // Whether something stands there beyond what a function takes.
    const isMore = (values) => {
        for (let i = 0; i < values.length; i += 1) {
            if (values[i] !== undefined) {
                return true;
            }
        }
        return false;
    };

    // The data of a result: structured if the server says it so, else its text, read as JSON if it is JSON.
    const data = (result) => {
        if (result.structuredContent !== undefined) {
            return result.structuredContent;
        }
        let all = '';
        for (const block of isArray(result.content) ? result.content : []) {
            if (block && block.type === 'text') {
                all += (all && '\n') + block.text;
            }
        }
        try {
            return parse(all);
        } catch {
            return all;
        }
    };

    const answered = (answer) => {
        if (answer.ok) {
            let read, isRead = false;
            const get = () => {
                if (!isRead) {
                    read = data(answer.result);
                    isRead = true;
                }
                return read;
            };
            // Not counted among its members: whoever returns the whole answer does not return the data twice.
            defineProperty(answer, 'value', { __proto__: null, get, enumerable: false, configurable: true });
        }
        return answer;
    };

    const call_tool = (server, tool, args, ...more) => {
        if (isMore(more)) {
            return failure('INVALID_ARGS', 'call_tool takes three arguments: server, tool, args');
        }
        const request = written({ server, tool, args });
        if (typeof request !== 'string') {
            return request;
        }
        return answered(callTools(`{"requests":[${request}],"max_parallel":1}`)[0]);
    };

    const call_tools = (requests, options, ...more) => {
        const wrong = (message) => failure('INVALID_ARGS', `call_tools: ${message}`);
        if (isMore(more)) {
            return wrong('it takes two arguments: the calls, {max_parallel}');
        }
        if (!isArray(requests)) {
            return wrong('the calls are not an array');
        }
        if (requests.length > MOST) {
            return wrong(`there are ${requests.length} calls; ${MOST} are allowed at once`);
        }
        const known = options ?? {};
        if (typeof known !== 'object' || isArray(known)) {
            return wrong('the options are not an object');
        }
        const names = keys(known);
        for (let i = 0; i < names.length; i += 1) {
            if (names[i] !== 'max_parallel') {
                return wrong(`"${names[i]}" is not a known option; the only one is "max_parallel"`);
            }
        }
        const parallel = known.max_parallel ?? PARALLEL;
        if (!isInteger(parallel) || parallel < 1 || parallel > MOST_PARALLEL) {
            return wrong(`max_parallel is not a whole number from 1 to ${MOST_PARALLEL}`);
        }
        let all = '';
        const answers = [], places = [];
        for (let i = 0; i < requests.length; i += 1) {
            const request = written(requests[i]);
            if (typeof request === 'string') {
                all += `${all && ','}${request}`;
                places[places.length] = i;
            } else {
                answers[i] = request;
            }
        }
        if (all !== '') {
            const made = callTools(`{"requests":[${all}],"max_parallel":${parallel}}`);
            for (let i = 0; i < places.length; i += 1) {
                answers[places[i]] = answered(made[i]);
            }
        }
        return answers;
    };

    const log = (...values) => {
        let line = '';
        for (let i = 0; i < values.length; i += 1) {
            const value = values[i];
            let word;
            if (typeof value === 'object' && value !== null) {
                try {
                    word = stringify(value);
                } catch {
                    word = undefined;
                }
            }
            line += (i > 0 ? ' ' : '') + (word ?? shown(value));
        }
        logLine(apply(toWellFormed, line, []));
    };
    const console = { log, info: log, warn: log, error: log, debug: log };

    const world = { __proto__: null, call_tool, call_tools, console, input };
    for (const name in world) {
        defineProperty(globalThis, name, {
            __proto__: null, value: world[name], writable: true, enumerable: false, configurable: true,
        });
    }
});
