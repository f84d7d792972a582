// Where secrets go on this machine: its keyring, or the private file in its place.

import { Failure, ask } from "./api.js";

let isFile = false;
let known = null;

/** In words. */
export const vault = () => (isFile ? "a private file" : "the keyring");

/** The secrets that are stored or referred to. */
export async function secrets() {
  const list = await ask("secrets");
  isFile = list.is_file;
  return list.secrets;
}

/** Finds out once which it is. One that cannot be asked says so when something is stored in it. */
export function knowVault() {
  return (known ??= secrets().catch((failure) => {
    if (!(failure instanceof Failure)) throw failure;
    known = null;
  }));
}
