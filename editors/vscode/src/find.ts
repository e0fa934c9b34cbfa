// Where the program `ankus` is. Knows nothing of VS Code, so that it is tested in Node alone.

import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

export interface Places {
  /** The setting `ankus.path`; empty if not set. */
  setting: string;
  /** The folder of this extension, which may bring a program with it. */
  extension: string;
  /** The variable `PATH`. */
  path: string;
  /** The user's home folder. */
  home: string;
  windows: boolean;
}

/** The program to start, or where it was looked for. */
export type Found = { program: string } | { looked: string[] };

function isProgram(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** A setting counts alone: whoever names a program does not want another one. */
export function find(places: Places, is: (path: string) => boolean = isProgram): Found {
  const name = places.windows ? "ankus.exe" : "ankus";
  if (places.setting !== "") {
    const program = places.setting.replace(/^~(?=[/\\]|$)/, places.home);
    return is(program) ? { program } : { looked: [program] };
  }
  const folders = places.path.split(delimiter).filter((folder) => folder !== "");
  const looked = [
    join(places.extension, "bin", name),
    ...folders.map((folder) => join(folder, name)),
    join(places.home, ".cargo", "bin", name),
  ];
  const program = looked.find(is);
  return program === undefined ? { looked } : { program };
}
