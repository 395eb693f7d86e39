import { checks } from './inside/checks';
import { Kit, resultOf } from './inside/kit';
import type { KitOptions, KitResult } from './options';

export type { KitOptions, KitResult };

/** Starts the service with an extension, and tries everything that applies to it. */
export async function checkExtension(
  path: string,
  options: KitOptions = {},
  told: (result: KitResult) => void = () => undefined,
): Promise<readonly KitResult[]> {
  const kit = new Kit(path, options);
  const results: KitResult[] = [];
  try {
    for (const check of checks) {
      const result = await resultOf(check, kit);
      results.push(result);
      told(result);
    }
  } finally {
    await kit.end();
  }
  return results;
}

type Tests = (name: string, body: () => void) => void;
type Test = (name: string, body: () => Promise<void>, deadlineMs?: number) => void;
interface Runner {
  readonly describe: Tests;
  readonly test: Test;
  readonly afterAll: (body: () => Promise<void>, deadlineMs?: number) => void;
}

const DEADLINE_MS = 180_000;

/** The same as tests of Jest, or of the test runner of Node. What does not apply is told at the end. */
export function describeExtension(path: string, options: KitOptions = {}): void {
  const { describe, test, afterAll } = runner();
  describe(`the extension ${path}`, () => {
    const kit = new Kit(path, options);
    const others: string[] = [];
    afterAll(async () => {
      await kit.end();
      process.stdout.write(others.join(''));
    }, DEADLINE_MS);
    for (const check of checks)
      test(
        `${check.topic}: ${check.name}`,
        async () => {
          const { outcome, reason } = await resultOf(check, kit);
          if (outcome === 'failed') throw new Error(reason);
          if (outcome !== 'held') others.push(`${outcome}: ${check.topic}: ${check.name} (${reason})\n`);
        },
        DEADLINE_MS,
      );
  });
}

function runner(): Runner {
  const found = globalThis as unknown as Partial<Runner>;
  if (found.describe !== undefined && found.test !== undefined && found.afterAll !== undefined)
    return found as Runner;
  const { after, describe, test } = process.getBuiltinModule('node:test');
  return {
    describe: (name, body) => void describe(name, body),
    test: (name, body, timeout) => void test(name, { timeout }, body),
    afterAll: (body, timeout) => after(body, { timeout }),
  };
}
