/** The extension that brought a controller. A class belongs to one for as long as the process runs. */
const owners = new WeakMap<object, string>();

export const claim = (controller: object, extension: string): void => void owners.set(controller, extension);

export const extensionOf = (controller: object): string | undefined => owners.get(controller);

/** The extension whose routes a path lies among; undefined for paths of the host. */
export const extensionAt = (path: string): string | undefined => /^\/(?:v1\/)?x\/([^/]+)/.exec(path)?.[1];
