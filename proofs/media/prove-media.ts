import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { audioKindOf, audioLengthOf } from '#inside/gateway/media/audio-length';
import { forgedRecordings, honestRecordings, recordingNamed } from '../../test/support/forged-recordings';
import { Findings, runProof } from '../../test/system/findings';

/**
 * ffmpeg plays recordings that claim to be short. The gateway never charges less than ffmpeg plays, and little more for
 * honest ones. `--record` writes the played lengths beside the recordings, for the tests.
 */
const RATE = 8_000;
const SAMPLE_BYTES = 2;
/** Resampling rounds at both ends. */
const ROUNDING_MS = 5;
const MOST_OVER = 1.1;
const MOST_OVER_MS = 250;
const MOST_PLAYED_BYTES = 64 * 1024 * 1024;

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'media-'));
  const findings = new Findings('prove:media');
  const plays: Record<string, number> = {};
  const honest = honestRecordings.map((name) => ({ name, file: recordingNamed(name) }));
  try {
    for (const { name, file } of [...honest, ...forgedRecordings()]) {
      const played = playedMs(folder, file);
      const isHonest = honestRecordings.includes(name);
      const kind = audioKindOf(file);
      const charged = kind === null ? 0 : audioLengthOf(kind, file).estimateMs;
      plays[name] = played;
      const most = isHonest && !measuredByBytes.has(name) ? played * MOST_OVER + MOST_OVER_MS : Infinity;
      const holds = charged + ROUNDING_MS >= played && charged <= most;
      if (played === 0 && !isHonest) findings.leaveOut(name, 'ffmpeg plays nothing of it');
      else findings.add(name, holds, `plays ${String(played)} ms, charged for ${String(charged)} ms`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (process.argv.includes('--record')) {
    writeFileSync('test/fixtures/recordings/plays.json', `${JSON.stringify(plays, null, 2)}\n`);
  }
  findings.end();
  await Promise.resolve();
}

/** Codecs whose packets are not looked into. */
const measuredByBytes = new Set(['ac3.mp4', 'speex.ogg']);

function playedMs(folder: string, file: Buffer): number {
  const path = join(folder, 'recording');
  writeFileSync(path, file);
  const { stdout: sound, error } = spawnSync(
    'ffmpeg',
    ['-v', 'quiet', '-i', path, '-vn', '-ac', '1', '-ar', String(RATE), '-f', 's16le', '-'],
    { maxBuffer: MOST_PLAYED_BYTES, timeout: 60_000 },
  );
  // Without ffmpeg, or with one that did not end, no length is known.
  if (error !== undefined) throw error;
  return Math.round((sound.length / SAMPLE_BYTES / RATE) * 1_000);
}

runProof(main);
