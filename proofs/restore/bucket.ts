import type { Findings } from '../../test/system/findings';
import { type Fault, ObjectStoreStandIn } from '../../test/support/object-store';
import { continuedBackup } from './drills';
import { restoreAndExamine, type Row } from './examine';
import { House, inHouse } from './house';

const NAME = 'bucket: backup killed in the middle';
/** All of them pass by themselves. */
const faults: readonly Fault[] = ['slow-down', 'internal-error', 'cut-before', 'cut-after'];

/** The log and the backups go to an object store over HTTP, which checks signatures and digests as S3 does. */
export async function bucket(findings: Findings): Promise<Row> {
  const store = await ObjectStoreStandIn.open();
  const { accessKeyId, secretAccessKey } = store.key;
  const environment = { BACKUP_TARGET_KEY: `${accessKeyId}:${secretAccessKey}` };
  try {
    return await inHouse(House.open(store.placeText('house'), environment), async (house) => {
      const drill = continuedBackup(NAME, /database: 50 %/);
      for (const fault of faults) store.fail(fault, 1, ({ method }) => method === 'PUT');
      const wish = await drill.run(house, findings);
      for (const fault of [...faults, 'cut-in-body'] as const)
        store.fail(fault, 1, ({ method }) => method === 'GET');
      const row = await restoreAndExamine(house, NAME, wish!, findings);
      const { code, text } = await house.run(['backup:verify']);
      findings.check(`${NAME}: backup:verify`, 'exit code 0, all hold', text, code === 0);
      return row;
    });
  } finally {
    await store.close();
  }
}
