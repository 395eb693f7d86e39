import { MINUTE_MS } from '../../kernel';
import type { Database, Row } from '../../platform';
import type { Condition, Look } from './look';

/** A node that has not told of itself for so long is judged no more: what it left is told by others. */
const GONE_MS = 5 * MINUTE_MS;
const MOST = 500;
const GIBIBYTE = 1024 ** 3;

type NodeRow = Row<'node_state', 'node, disk_free, disk_free_bytes, journal_ms'>;

const nodes = (database: Database, now: Date): Promise<NodeRow[]> =>
  database.rows<NodeRow>(
    `SELECT node, disk_free, disk_free_bytes, journal_ms FROM node_state WHERE seen_at > $1 ORDER BY node LIMIT ${MOST}`,
    [new Date(now.getTime() - GONE_MS)],
  );

export const disksLow =
  (database: Database): Look =>
  async ({ now, parameters }) => {
    const set = parameters(null);
    if (set === null) return [];
    const rows = await nodes(database, now);
    return rows
      .filter(({ diskFree }) => diskFree * 100 < (set.percent ?? 10))
      .map(({ node, diskFree, diskFreeBytes }): Condition => ({
        owner: null,
        subject: node,
        facts: {
          node,
          percent: Math.floor(diskFree * 1_000) / 10,
          gibibytes: Math.floor((Number(diskFreeBytes) * 100) / GIBIBYTE) / 100,
        },
      }));
  };

export const journalsOld =
  (database: Database): Look =>
  async ({ now, parameters }) => {
    const set = parameters(null);
    if (set === null) return [];
    const rows = await nodes(database, now);
    return rows
      .filter(({ journalMs }) => Number(journalMs) > (set.minutes ?? 2) * MINUTE_MS)
      .map(({ node, journalMs }): Condition => ({
        owner: null,
        subject: node,
        facts: { node, minutes: Math.floor(Number(journalMs) / MINUTE_MS) },
      }));
  };
