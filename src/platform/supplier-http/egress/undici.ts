type Undici = typeof import('undici');

let loaded: Promise<Undici> | undefined;

/** Loaded by those alone who go through a proxy or speak HTTP/2. */
export const undici = (): Promise<Undici> => (loaded ??= import('undici'));
