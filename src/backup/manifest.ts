import { parseJsonText } from '../kernel';
import { BackupError, DamagedObject } from './backup-error';
import type { StoredFile } from './parts/part-writer';
import { isOutside } from './parts/tar-reader';
import type { BackupKey } from './seal/backup-key';
import { otherKeyError } from './seal/sealed-object';
import type { BackupTarget } from './target/backup-target';

export const FORMAT = 1;

export interface ClusterDescription {
  readonly postgres: string;
  readonly systemIdentifier: string;
  readonly timeline: number;
  readonly startLsn: string;
  readonly endLsn: string;
  readonly segmentBytes: number;
  readonly migrations: readonly string[];
  /** Files of the cluster as one archive, and the server's list of them. */
  readonly base: StoredFile;
  readonly fileList: StoredFile;
}

/** Description of a backup. Written last: a backup without a manifest does not exist. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly id: string;
  readonly product: string;
  /** Times are by the clock of the database. */
  readonly startedAt: string;
  /** Everything committed by this moment is in the backup; absent from backups of earlier versions. */
  readonly completeUntil?: string;
  /** Nothing committed after this moment is in the backup; restores can reach moments from here on. */
  readonly endedAt: string;
  readonly keyFingerprint: string;
  /** Null if the operator runs the database server and backs it up separately. */
  readonly cluster: ClusterDescription | null;
  readonly files: readonly StoredFile[];
}

/** Returns the moment that a backup restores without any log. */
export const momentOf = ({ completeUntil, startedAt }: Manifest): Date =>
  new Date(completeUntil ?? startedAt);

export const BACKUPS = 'backups/';
export const folderOf = (id: string): string => `${BACKUPS}${id}/`;
const manifestName = (id: string): string => `${folderOf(id)}manifest.json`;
const verifiedName = (id: string): string => `${folderOf(id)}verified.json`;

export async function writeManifest(target: BackupTarget, key: BackupKey, manifest: Manifest): Promise<void> {
  await target.put(manifestName(manifest.id), sign(key, manifest));
}

/** Rejects a manifest that was changed or signed with another key. */
export async function readManifest(target: BackupTarget, key: BackupKey, id: string): Promise<Manifest> {
  const name = manifestName(id);
  const bytes = await target.get(name);
  if (bytes === null) throw new BackupError(`There is no backup ${id} in ${target.location}.`);
  const manifest = verify(key, name, bytes, id) as Manifest;
  const outsideFile = manifest.files.find(({ path }) => isOutside(path));
  if (outsideFile !== undefined)
    throw new DamagedObject(name, `${outsideFile.path} lies outside of the backup.`);
  return manifest;
}

export interface VerifiedMark {
  readonly at: string;
  readonly moment: string;
}

export const markVerified = (
  target: BackupTarget,
  key: BackupKey,
  id: string,
  mark: VerifiedMark,
): Promise<void> => target.put(verifiedName(id), sign(key, { ...mark, id, keyFingerprint: key.fingerprint }));

export async function readVerified(
  target: BackupTarget,
  key: BackupKey,
  id: string,
): Promise<VerifiedMark | null> {
  const bytes = await target.get(verifiedName(id));
  return bytes === null ? null : (verify(key, verifiedName(id), bytes, id) as VerifiedMark);
}

/** Returns two lines: the content, and a signature of the first line. */
function sign(key: BackupKey, content: object): Buffer {
  const line = JSON.stringify(content);
  return Buffer.from(`${line}\n${JSON.stringify({ signature: key.sign(line) })}\n`);
}

function verify(key: BackupKey, name: string, bytes: Buffer, id: string): unknown {
  const [line = '', second = ''] = bytes.toString('utf8').split('\n');
  const [content, signature] = [parseOrNull(line), parseOrNull(second)];
  if (!isRecord(content) || !isRecord(signature)) throw new DamagedObject(name, 'it cannot be read.');
  const { keyFingerprint, format } = content;
  if (typeof keyFingerprint === 'string' && keyFingerprint !== key.fingerprint)
    throw otherKeyError(name, keyFingerprint, key);
  if (signature['signature'] !== key.sign(line))
    throw new DamagedObject(name, 'its signature does not hold.');
  if (content['id'] !== id)
    throw new DamagedObject(name, `it belongs to the backup ${JSON.stringify(content['id'])}.`);
  // Only manifests have a format, and the signature does not cover the name of the object.
  if ((format === undefined) === (name === manifestName(id)))
    throw new DamagedObject(name, 'it is another object of this backup.');
  if (format !== undefined && format !== FORMAT)
    throw new BackupError(
      `${name} was written by a later version of the product (format ${JSON.stringify(format)}).`,
    );
  return content;
}

function parseOrNull(line: string): unknown {
  try {
    return parseJsonText(line);
  } catch {
    return null;
  }
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
