// When a field is checked and what was found is shown: on leaving it, but not between the press and the release of a pointer, or what was
// pressed would move away.

let isPressed = false;
let waiting = [];

function released() {
  isPressed = false;
  const due = waiting;
  waiting = [];
  // After the click that comes of it.
  setTimeout(() => due.forEach((check) => check()), 0);
}

document.addEventListener("pointerdown", () => { isPressed = true; }, true);
document.addEventListener("pointerup", released, true);
document.addEventListener("pointercancel", released, true);

/** Waits for the release of a pointer that is pressed. */
export const untilReleased = () => new Promise((done) => (isPressed ? waiting.push(done) : done()));

/** Calls `check` when a field was left with something in it, and while it is corrected. */
export function checked(control, check) {
  const look = () => control.isConnected && control.value !== "" && check();
  control.addEventListener("blur", () => (isPressed ? waiting.push(look) : look()));
  control.addEventListener("input", () => control.getAttribute("aria-invalid") === "true" && check());
}
