/** A region is spelled so everywhere: case and outer spaces make no other region. */
export const regionNamed = (text: string): string => text.trim().toLowerCase();

export const regionsNamed = (list: readonly string[]): string[] => [...new Set(list.map(regionNamed))];
