import type { ActivityActor, ActivityLog } from '../../audit';
import type { Tx } from '../../platform';
import type { PlanRow } from './plan-rows';

/** Writes one entry per object, so that the object's history shows the plan's changes. Keys have their own entries. */
export async function writePlanEntries(
  activity: ActivityLog,
  tx: Tx,
  rows: readonly PlanRow[],
  actor?: ActivityActor,
): Promise<void> {
  for (const { kind, name, changes } of rows) {
    if (kind === 'key') continue;
    await activity.write(tx, {
      action: 'catalogue.imported',
      object: { type: kind, label: name },
      concerns: {},
      changes: Object.fromEntries(changes.map(({ field, before, after }) => [field, [before, after]])),
      ...(actor === undefined ? {} : { actor }),
    });
  }
}
