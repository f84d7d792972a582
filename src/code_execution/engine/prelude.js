// What a script finds in its world besides the language. Runs before the script, and keeps what it needs of the language from changes
// that the script makes to it. Whatever a script breaks here it breaks for itself: the daemon checks all that it is asked.
(function (callTools, logLine, input) {
    'use strict';
    const { parse, stringify } = JSON;
    const { isArray } = Array;
    const { isInteger } = Number;
    const { defineProperty } = Object;
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

    // A call as JSON, or why it is none.
    const written = (place, server, tool, args) => {
        for (const [name, value] of [['server', server], ['tool', tool]]) {
            if (typeof value !== 'string' || value === '') {
                return failure('INVALID_ARGS', `${place}: the ${name} is not a text with something in it`);
            }
        }
        let json = '{}';
        if (args !== undefined && args !== null) {
            try {
                json = stringify(args);
            } catch (error) {
                return failure('SERIALIZATION_ERROR', `${place}: the arguments cannot be written as JSON: ${shown(error)}`);
            }
            if (json === undefined || json[0] !== '{') {
                return failure('INVALID_ARGS', `${place}: the arguments are not an object`);
            }
        }
        const name = (value) => stringify(apply(toWellFormed, value, []));
        return `{"server":${name(server)},"tool":${name(tool)},"args":${json}}`;
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

    const call_tool = (server, tool, args) => {
        const request = written('call_tool', server, tool, args);
        if (typeof request !== 'string') {
            return request;
        }
        return answered(callTools(`{"requests":[${request}],"max_parallel":1}`)[0]);
    };

    const call_tools = (requests, options) => {
        const wrong = (message) => failure('INVALID_ARGS', `call_tools: ${message}`);
        if (!isArray(requests)) {
            return wrong('the calls are not an array');
        }
        if (requests.length > MOST) {
            return wrong(`there are ${requests.length} calls; ${MOST} are allowed at once`);
        }
        if (options !== undefined && options !== null && typeof options !== 'object') {
            return wrong('the options are not an object');
        }
        const parallel = options?.max_parallel ?? PARALLEL;
        if (!isInteger(parallel) || parallel < 1 || parallel > MOST_PARALLEL) {
            return wrong(`max_parallel is not a whole number from 1 to ${MOST_PARALLEL}`);
        }
        let all = '';
        for (let i = 0; i < requests.length; i += 1) {
            const place = `element ${i}`;
            const one = requests[i];
            if (one === null || typeof one !== 'object') {
                return wrong(`${place} is not an object`);
            }
            const request = written(place, one.server, one.tool, one.args);
            if (typeof request !== 'string') {
                return failure(request.error.code, `call_tools: ${request.error.message}`);
            }
            all += (i > 0 ? ',' : '') + request;
        }
        if (all === '') {
            return [];
        }
        const answers = callTools(`{"requests":[${all}],"max_parallel":${parallel}}`);
        for (let i = 0; i < answers.length; i += 1) {
            answered(answers[i]);
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
