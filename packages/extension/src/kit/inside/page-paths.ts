import { type Kit, skippedUnless } from './kit';

/** Its pages by their addresses: those of its navigation, and those that are named. */
export const pathsOf = (kit: Kit): readonly string[] => [
  ...new Set([...kit.definition.navigation.map(({ href }) => href), ...(kit.options.pages ?? [])]),
];

export const skipPages = (kit: Kit): string | null =>
  kit.facts().hasModule
    ? skippedUnless(pathsOf(kit), 'it names no page; name them as `pages` or --page')
    : 'it has no pages';
