import type { Log } from '#extension';
import { Extensions, loadExtensions } from '../../extensions';
import { loadSettings, type Settings } from '../../platform';
import { SupplierStyles } from '../../routing';
import { lentParts } from '../../web';
import type { CommandContext } from '../command';

type Outside = Pick<CommandContext, 'environment' | 'writeStderr'>;

/** The extensions that the service would load; they are set up as there. */
export async function extensionsOf(
  { environment, writeStderr }: Outside,
  { extensions }: Settings = loadSettings(environment),
): Promise<Extensions> {
  const loaded = await loadExtensions(extensions, {
    environment,
    workingFolder: process.cwd(),
    lent: lentParts,
    logFor: (extension) => logTo(extension, writeStderr),
  });
  return new Extensions(loaded);
}

/** A terminal is told of failures alone. */
function logTo(extension: string, write: (text: string) => void): Log {
  const line = (message: string): void => write(`${extension}: ${message}\n`);
  return { info: () => undefined, warn: line, error: line };
}

export async function loadedStyles(settings: Settings, context: Outside): Promise<SupplierStyles> {
  const { suppliers } = await extensionsOf(context, settings);
  return new SupplierStyles(suppliers, (style, method, said) =>
    context.writeStderr(`${style} failed in ${method}(): ${said}\n`),
  );
}
