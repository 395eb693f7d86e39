import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { executeCommand } from '#inside/commands/run-command';
import { CatalogueService } from '#product/catalogue';
import type { TestApp } from './app';
import { makeScratchFolder } from './scratch';

/** Applies a gateway.yaml to a service with the operator's `apply` command. */
export async function applyGatewayFile(
  app: TestApp,
  yaml: string,
  secrets: Readonly<Record<string, string>> = {},
): Promise<void> {
  const folder = makeScratchFolder('switchboard-gateway-file-');
  try {
    const path = join(folder, 'gateway.yaml');
    writeFileSync(path, yaml);
    const outputLines: string[] = [];
    const write = (text: string): void => void outputLines.push(text);
    const context = { environment: { ...app.environment, ...secrets }, write, writeStderr: write };
    const code = await executeCommand(['apply', path, '--yes'], {
      ...context,
      confirm: () => Promise.resolve(false),
    });
    if (code !== 0) throw new Error(outputLines.join(''));
    await app.application.get(CatalogueService).reload();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
