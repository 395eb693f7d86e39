import { checks } from './inside/checks';
import { type KitCheck, Kit, resultOf } from './inside/kit';
import type { KitOptions, KitResult, SupplierSample } from './options';

export type { KitOptions, KitResult, SupplierSample };

const checksFor = ({ topics }: KitOptions): readonly KitCheck[] =>
  checks.filter(({ topic }) => topics === undefined || topics.includes(topic));

/** Starts the service with an extension and runs every check. */
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

/** The part of the context of node:test that skips a running test; Jest has none. */
interface NodeTestContext {
  skip?(reason: string): void;
}
type TestBody = (context?: NodeTestContext) => Promise<void>;
type TestFunction = (name: string, body: TestBody, deadlineMs?: number) => void;
interface TestRunner {
  readonly describe: (name: string, body: () => void) => void;
  readonly test: TestFunction & { readonly skip: TestFunction };
  readonly afterAll: (body: () => Promise<void>, deadlineMs?: number) => void;
}

const DEADLINE_MS = 180_000;

/**
 * Registers the checks as tests of Jest or of Node's test runner. A check with nothing to test is skipped; one that
 * discovers this while running is skipped if the runner allows it, and fails in Jest.
 */
export function describeExtension(path: string, options: KitOptions = {}): void {
  const { describe, test, afterAll } = findRunner();
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

/** Skips no check if the extension cannot be read, so that the first one fails with the reason. */
const skipReason = (check: KitCheck, kit: Kit): string | null =>
  kit.read() === null ? (check.skip?.(kit) ?? null) : null;

async function runCheck(check: KitCheck, kit: Kit, context: NodeTestContext | undefined): Promise<void> {
  const { outcome, reason } = await resultOf(check, kit);
  if (outcome === 'skipped' && typeof context?.skip === 'function') return context.skip(reason);
  if (outcome !== 'passed') throw new Error(`${outcome}: ${reason}`);
}

function findRunner(): TestRunner {
  const globals = globalThis as unknown as Partial<TestRunner>;
  const { describe, test, afterAll } = globals;
  // Jest passes a callback to tests that take an argument.
  if (describe !== undefined && test !== undefined && afterAll !== undefined) {
    const jestTest: TestFunction = (name, body, deadlineMs) => test(name, () => body(), deadlineMs);
    return { describe, afterAll, test: Object.assign(jestTest, { skip: test.skip }) };
  }
  const node = process.getBuiltinModule('node:test');
  const nodeTest: TestFunction = (name, body, timeout) =>
    void node.test(name, { timeout }, (context) => body(context));
  return {
    describe: (name, body) => void node.describe(name, body),
    test: Object.assign(nodeTest, { skip: (name: string) => void node.test(name, { skip: true }) }),
    afterAll: (body, timeout) => node.after(body, { timeout }),
  };
}
