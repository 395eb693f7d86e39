export const normaliseRegion = (text: string): string => text.trim().toLowerCase();

export const normaliseRegions = (list: readonly string[]): string[] => [
  ...new Set(list.map(normaliseRegion)),
];
