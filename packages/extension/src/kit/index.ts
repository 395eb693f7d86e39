import { checks } from './inside/checks';
import { type Check, Kit, resultOf } from './inside/kit';
import type { KitOptions, KitResult, SupplierSample } from './options';

export type { KitOptions, KitResult, SupplierSample };

const checksFor = ({ topics }: KitOptions): readonly Check[] =>
  checks.filter(({ topic }) => topics === undefined || topics.includes(topic));

/** Starts the service with an extension, and runs every check. */
export async function checkExtension(
  path: string,
  options: KitOptions = {},
  report: (result: KitResult) => void = () => undefined,
): Promise<readonly KitResult[]> {
  const kit = new Kit(path, options);
  const results: KitResult[] = [];
  try {
    for (const check of checksFor(options)) {
      const result = await resultOf(check, kit);
      results.push(result);
      report(result);
    }
  } finally {
    await kit.end();
  }
  return results;
}

/** The part of the context of node:test that skips a test while it runs; Jest has none. */
interface TestContext {
  skip?(reason: string): void;
}
type Body = (context?: TestContext) => Promise<void>;
type Test = (name: string, body: Body, deadlineMs?: number) => void;
interface Runner {
  readonly describe: (name: string, body: () => void) => void;
  readonly test: Test & { readonly skip: Test };
  readonly afterAll: (body: () => Promise<void>, deadlineMs?: number) => void;
}

const DEADLINE_MS = 180_000;

/**
 * The same checks as tests of Jest, or of the test runner of Node. A check that has nothing to test is a skipped test.
 * One that finds out on its way that it cannot test anything is skipped where the runner allows, and fails in Jest.
 */
export function describeExtension(path: string, options: KitOptions = {}): void {
  const { describe, test, afterAll } = runner();
  describe(`the extension ${path}`, () => {
    const kit = new Kit(path, options);
    afterAll(() => kit.end(), DEADLINE_MS);
    for (const check of checksFor(options)) {
      const name = `${check.topic}: ${check.name}`;
      const reason = skipReason(check, kit);
      if (reason !== null) {
        test.skip(`${name} (skipped: ${reason})`, () => Promise.resolve(), DEADLINE_MS);
        continue;
      }
      test(name, (context) => runCheck(check, kit, context), DEADLINE_MS);
    }
  });
}

/** An extension that cannot be read has no check skipped: its first test says why. */
const skipReason = (check: Check, kit: Kit): string | null =>
  kit.read() === null ? (check.skip?.(kit) ?? null) : null;

async function runCheck(check: Check, kit: Kit, context: TestContext | undefined): Promise<void> {
  const { outcome, reason } = await resultOf(check, kit);
  if (outcome === 'skipped' && typeof context?.skip === 'function') return context.skip(reason);
  if (outcome !== 'passed') throw new Error(`${outcome}: ${reason}`);
}

function runner(): Runner {
  const globals = globalThis as unknown as Partial<Runner>;
  const { describe, test, afterAll } = globals;
  // Jest passes a callback to tests that take an argument.
  if (describe !== undefined && test !== undefined && afterAll !== undefined) {
    const plain: Test = (name, body, deadlineMs) => test(name, () => body(), deadlineMs);
    return { describe, afterAll, test: Object.assign(plain, { skip: test.skip }) };
  }
  const node = process.getBuiltinModule('node:test');
  const own: Test = (name, body, timeout) => void node.test(name, { timeout }, (context) => body(context));
  return {
    describe: (name, body) => void node.describe(name, body),
    test: Object.assign(own, { skip: (name: string) => void node.test(name, { skip: true }) }),
    afterAll: (body, timeout) => node.after(body, { timeout }),
  };
}
