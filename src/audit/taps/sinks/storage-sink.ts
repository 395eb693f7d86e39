import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { SettledRecord } from '#extension';
import { type ObjectStorage, StoreFault, type StorageSinkSetting } from '../../../platform';
import { SinkFailure } from '../failure';
import type { Sink } from '../held-tap';

const compress = promisify(gzip);

/** Lines of JSON in objects by the hour, as engines that read such stores expect them. */
export const storageSink = (setting: StorageSinkSetting, storage: ObjectStorage): Sink => {
  const { name, place, batch, timeoutMs, everyMs } = setting;
  return {
    ...{ name, kind: 's3', batchSize: batch, timeoutMs, everyMs },
    target: `s3://${place.bucket}/${place.prefix} (${new URL(place.endpoint).host})`,
    async send(records, signal) {
      const names: string[] = [];
      for (const [folder, those] of Map.groupBy(records, folderOf)) {
        const object = `${folder}${nameOf(those)}`;
        const lines = those.map((record) => `${JSON.stringify(record)}\n`).join('');
        // Its header would have some stores send it unpacked, and others not: the end of the name tells it.
        const options = { contentType: 'application/gzip', signal };
        await storage.put(object, await compress(lines), options).catch(giveUp);
        names.push(object);
      }
      return `200: ${names.join(', ')}`;
    },
  };
};

/** A name that begins with `_` is no data to those engines. */
function folderOf({ created_at: at, test }: SettledRecord): string {
  const [, year, month, day, hour] = /^(\d{4})-(\d\d)-(\d\d)T(\d\d)/.exec(at)!;
  return test === true ? '_test/' : `year=${year}/month=${month}/day=${day}/hour=${hour}/`;
}

/** The same records have the same name: sent again, they take the place of themselves. */
function nameOf(records: readonly SettledRecord[]): string {
  const [first, last] = [records[0]!, records.at(-1)!];
  const time = first.created_at.replace(/[-:]|\.\d+/g, '');
  return `${time}_${first.request_id}_${last.request_id}_${records.length}.jsonl.gz`;
}

function giveUp(error: unknown): never {
  if (!(error instanceof StoreFault)) throw error;
  const { status, message, retryAfterMs } = error;
  throw new SinkFailure(status === 429 || status === 503 ? 'busy' : 'unknown', message, {
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
  });
}
