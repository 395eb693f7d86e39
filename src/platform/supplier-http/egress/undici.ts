type Undici = typeof import('undici');

let loaded: Promise<Undici> | undefined;

/** Loaded with the first connection through a proxy. */
export const undici = (): Promise<Undici> => (loaded ??= import('undici'));
