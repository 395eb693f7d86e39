import { type Kit, skippedUnless } from './kit';

/** Returns the addresses of the extension's pages: those of its navigation, and those in the options. */
export const pathsOf = (kit: Kit): readonly string[] => [
  ...new Set([...kit.definition.navigation.map(({ href }) => href), ...(kit.options.pages ?? [])]),
];

export const skipPages = (kit: Kit): string | null =>
  kit.contributions().hasModule
    ? skippedUnless(pathsOf(kit), 'it names no page; name them as `pages` or --page')
    : 'it has no pages';
