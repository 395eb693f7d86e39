import type { Log } from '#extension';
import { Extensions, loadExtensions } from '../../extensions';
import { loadSettings, type Settings } from '../../platform';
import { SupplierStyles } from '../../routing';
import { hostParts } from '../../web';
import type { CliContext } from '../command';

type CommandOutput = Pick<CliContext, 'environment' | 'writeStderr'>;

export async function loadCommandExtensions(
  { environment, writeStderr }: CommandOutput,
  { extensions }: Settings = loadSettings(environment),
): Promise<Extensions> {
  const loaded = await loadExtensions(extensions, {
    environment,
    workingFolder: process.cwd(),
    nestExports: hostParts,
    logFor: (extension) => logTo(extension, writeStderr),
  });
  return new Extensions(loaded);
}

function logTo(extension: string, write: (text: string) => void): Log {
  const line = (message: string): void => write(`${extension}: ${message}\n`);
  return { info: () => undefined, warn: line, error: line };
}

export async function loadStyles(settings: Settings, context: CommandOutput): Promise<SupplierStyles> {
  const { suppliers } = await loadCommandExtensions(context, settings);
  return new SupplierStyles(suppliers, (style, method, message) =>
    context.writeStderr(`${style} failed in ${method}(): ${message}\n`),
  );
}
