import type { LoadedExtension } from '../extensions';
import type { ExtensionViews, UsedParts } from './extension-views';

export const viewOfExtension = (extension: string, view: string): string => `x/${extension}/${view}`;

/** The views and texts of an extension. What is missing or does not compile refuses the start. */
export async function viewsOf(extension: LoadedExtension, used?: UsedParts): Promise<ExtensionViews> {
  const { verifiedViewsOf } = await import('./extension-views.js');
  return verifiedViewsOf(extension, used);
}
