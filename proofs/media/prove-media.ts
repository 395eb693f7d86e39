import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { audioKindOf, audioLengthOf } from '#inside/gateway/media/audio-length';
import {
  createForgedRecordings,
  originalRecordings,
  readRecording,
} from '../../test/support/forged-recordings';
import { Findings, runProof } from '../../test/system/findings';

/**
 * Plays recordings that claim to be short in ffmpeg. The gateway never charges for less than ffmpeg plays, and little
 * more for honest ones; `--record` stores the played lengths for the tests.
 */
const RATE = 8_000;
const SAMPLE_BYTES = 2;
/** Resampling rounds at both ends. */
const ROUNDING_MS = 5;
const MAX_OVERCHARGE_RATIO = 1.1;
const MAX_OVERCHARGE_MS = 250;
const MAX_PLAYED_BYTES = 64 * 1024 * 1024;

async function main(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'media-'));
  const findings = new Findings('prove:media');
  const playedLengths: Record<string, number> = {};
  const honest = originalRecordings.map((name) => ({ name, file: readRecording(name) }));
  try {
    for (const { name, file } of [...honest, ...createForgedRecordings()]) {
      const playedLengthMs = playedMs(folder, file);
      const isHonest = originalRecordings.includes(name);
      const kind = audioKindOf(file);
      const chargedMs = kind === null ? 0 : audioLengthOf(kind, file).estimateMs;
      playedLengths[name] = playedLengthMs;
      const maxChargedMs =
        isHonest && !measuredByBytes.has(name)
          ? playedLengthMs * MAX_OVERCHARGE_RATIO + MAX_OVERCHARGE_MS
          : Infinity;
      const holds = chargedMs + ROUNDING_MS >= playedLengthMs && chargedMs <= maxChargedMs;
      if (playedLengthMs === 0 && !isHonest) findings.addSkipped(name, 'ffmpeg plays nothing of it');
      else
        findings.add(name, holds, `plays ${String(playedLengthMs)} ms, charged for ${String(chargedMs)} ms`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
  if (process.argv.includes('--record')) {
    writeFileSync('test/fixtures/recordings/plays.json', `${JSON.stringify(playedLengths, null, 2)}\n`);
  }
  findings.end();
  await Promise.resolve();
}

/** Codecs whose packets are not parsed. */
const measuredByBytes = new Set(['ac3.mp4', 'speex.ogg']);

function playedMs(folder: string, file: Buffer): number {
  const path = join(folder, 'recording');
  writeFileSync(path, file);
  const { stdout: sound, error } = spawnSync(
    'ffmpeg',
    ['-v', 'quiet', '-i', path, '-vn', '-ac', '1', '-ar', String(RATE), '-f', 's16le', '-'],
    { maxBuffer: MAX_PLAYED_BYTES, timeout: 60_000 },
  );
  // Without ffmpeg, or if it did not finish, the length is unknown.
  if (error !== undefined) throw error;
  return Math.round((sound.length / SAMPLE_BYTES / RATE) * 1_000);
}

runProof(main);
