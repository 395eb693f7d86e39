import type { LoadedExtension } from '../extensions';
import type { ExtensionViews, ViewReferences } from './extension-views';

export const extensionViewName = (extension: string, view: string): string => `x/${extension}/${view}`;

/** Verifies the views and texts of an extension; throws if something is missing or does not compile. */
export async function loadExtensionViews(
  extension: LoadedExtension,
  references?: ViewReferences,
): Promise<ExtensionViews> {
  const { verifyViews: verifiedViewsOf } = await import('./extension-views.js');
  return verifiedViewsOf(extension, references);
}
