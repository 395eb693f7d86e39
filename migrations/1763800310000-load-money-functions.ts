import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { MigrationInterface, QueryRunner } from 'typeorm';

const sql = sqlOf(folderOf('money', __dirname));
const version = createHash('sha256').update(sql).digest('hex').slice(0, 12);
const versionedName = `LoadMoneyFunctions_${version}_1763800310000`;

/** The last migration of the first version that is updated while it serves. */
const BASE = 'RankUsageDays1764200300000';

/**
 * A new database gets the functions here, because later migrations use them. An existing one gets them at the end:
 * functions that name a table of a pending migration would break the nodes that still serve.
 */
export class LoadFirstMoneyFunctions1763800310000 implements MigrationInterface {
  readonly name = 'LoadFirstMoneyFunctions1763800310000';

  async up(runner: QueryRunner): Promise<void> {
    const ran = (await runner.query('SELECT FROM migrations WHERE name = $1', [BASE])) as unknown[];
    if (ran.length === 0) await runner.query(sql);
  }

  /** The functions belong to the migrations that made them first. */
  async down(): Promise<void> {
    // Nothing to take back.
  }
}

/**
 * The functions of money as `migrations/sql/money` says them today. The name carries the hash of the files, so a change
 * of them is a migration that has not run yet. One that ran is not repeated: a node of the version before, started
 * again during an update, does not bring its functions back. It runs after everything that adds, and before anything that
 * takes away.
 */
export class LoadMoneyFunctions1763800310000 implements MigrationInterface {
  readonly name = versionedName;

  static {
    // Nodes compare the names of classes with those that ran.
    Object.defineProperty(this, 'name', { value: versionedName });
  }

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(sql);
  }

  /** The functions belong to the migrations that made them first. */
  async down(): Promise<void> {
    // Nothing to take back.
  }
}

/** The same place seen from the sources and from the build. */
function folderOf(name: string, from: string): string {
  const folder = join(from, 'migrations', 'sql', name);
  if (existsSync(folder)) return folder;
  const parent = dirname(from);
  if (parent === from) throw new Error(`migrations/sql/${name} is missing from this installation`);
  return folderOf(name, parent);
}

function sqlOf(folder: string): string {
  const files = readdirSync(folder).filter((file) => file.endsWith('.sql'));
  return files
    .sort()
    .map((file) => readFileSync(join(folder, file), 'utf8'))
    .join('\n');
}
