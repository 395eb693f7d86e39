import type { Findings } from '../../test/system/findings';
import { type ObjectStoreFault, ObjectStoreStandIn } from '../../test/support/object-store';
import { continuedBackupDrill } from './drills';
import { restoreAndExamine, type RestoreRow } from './examine';
import { RestoreFixture, withFixture } from './restore-fixture';

const NAME = 'bucket: backup killed in the middle';
/** Transient faults. */
const faults: readonly ObjectStoreFault[] = ['slow-down', 'internal-error', 'cut-before', 'cut-after'];

/** The log and the backups go to an object store over HTTP that checks signatures and digests as S3 does. */
export async function proveBucket(findings: Findings): Promise<RestoreRow> {
  const store = await ObjectStoreStandIn.open();
  const { accessKeyId, secretAccessKey } = store.key;
  const environment = { BACKUP_TARGET_KEY: `${accessKeyId}:${secretAccessKey}` };
  try {
    return await withFixture(
      RestoreFixture.open(store.locationText('house'), environment),
      async (fixture) => {
        const drill = continuedBackupDrill(NAME, /database: 50 %/);
        for (const fault of faults) store.fail(fault, 1, ({ method }) => method === 'PUT');
        const restoreRequest = await drill.run(fixture, findings);
        for (const fault of [...faults, 'cut-in-body'] as const)
          store.fail(fault, 1, ({ method }) => method === 'GET');
        const row = await restoreAndExamine(fixture, NAME, restoreRequest!, findings);
        const { code, text } = await fixture.run(['backup:verify']);
        findings.check(`${NAME}: backup:verify`, 'exit code 0, all hold', text, code === 0);
        return row;
      },
    );
  } finally {
    await store.close();
  }
}
