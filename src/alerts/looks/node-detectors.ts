import { MINUTE_MS } from '../../kernel';
import type { Database, TableRow } from '../../platform';
import type { AlertCondition, AlertDetector } from './detector';

/** A node silent for longer is ignored; other detectors report what it left behind. */
const MAX_SILENCE_MS = 5 * MINUTE_MS;
const MAX_NODES = 500;
const GIBIBYTE = 1024 ** 3;

type NodeRow = TableRow<'node_state', 'node, disk_free, disk_free_bytes, journal_ms'>;

const loadNodes = (database: Database, now: Date): Promise<NodeRow[]> =>
  database.rows<NodeRow>(
    `SELECT node, disk_free, disk_free_bytes, journal_ms FROM node_state WHERE seen_at > $1 ORDER BY node LIMIT ${MAX_NODES}`,
    [new Date(now.getTime() - MAX_SILENCE_MS)],
  );

export const detectLowDisks =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    if (thresholds === null) return [];
    const rows = await loadNodes(database, now);
    return rows
      .filter(({ diskFree }) => diskFree * 100 < (thresholds.percent ?? 10))
      .map(({ node, diskFree, diskFreeBytes }): AlertCondition => ({
        owner: null,
        subject: node,
        facts: {
          node,
          percent: Math.floor(diskFree * 1_000) / 10,
          gibibytes: Math.floor((Number(diskFreeBytes) * 100) / GIBIBYTE) / 100,
        },
      }));
  };

export const detectOldJournals =
  (database: Database): AlertDetector =>
  async ({ now, parameters }) => {
    const thresholds = parameters(null);
    if (thresholds === null) return [];
    const rows = await loadNodes(database, now);
    return rows
      .filter(({ journalMs }) => Number(journalMs) > (thresholds.minutes ?? 2) * MINUTE_MS)
      .map(({ node, journalMs }): AlertCondition => ({
        owner: null,
        subject: node,
        facts: { node, minutes: Math.floor(Number(journalMs) / MINUTE_MS) },
      }));
  };
