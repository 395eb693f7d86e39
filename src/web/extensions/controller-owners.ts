/** Maps a controller to its extension for the lifetime of the process. */
const owners = new WeakMap<object, string>();

export const claimController = (controller: object, extension: string): void =>
  void owners.set(controller, extension);

export const extensionOf = (controller: object): string | undefined => owners.get(controller);

/** Extension that serves a path; undefined for paths of the host. */
export const extensionAt = (path: string): string | undefined => /^\/(?:v1\/)?x\/([^/]+)/.exec(path)?.[1];
