import { parseJsonText } from '../kernel';
import { BackupError, DamagedObject } from './backup-error';
import type { StoredFile } from './parts/part-writer';
import { leadsOutside } from './parts/tar-reader';
import type { BackupKey } from './seal/backup-key';
import { otherKey } from './seal/sealed-object';
import type { BackupTarget } from './target/backup-target';

export const FORMAT = 1;

/** The cluster of the embedded database. */
export interface ClusterFacts {
  readonly postgres: string;
  readonly systemIdentifier: string;
  readonly timeline: number;
  readonly startLsn: string;
  readonly endLsn: string;
  readonly segmentBytes: number;
  readonly migrations: readonly string[];
  /** The files of the cluster, as one archive, and the server's list of them. */
  readonly base: StoredFile;
  readonly fileList: StoredFile;
}

/** All that is known of a backup. It is written last: a backup without it does not exist. */
export interface Manifest {
  readonly format: typeof FORMAT;
  readonly id: string;
  readonly product: string;
  /** By the clock of the database, like the next two. */
  readonly startedAt: string;
  /** All that was committed by this moment is in the backup; absent from backups of earlier versions. */
  readonly completeUntil?: string;
  /** Nothing that was committed after this moment is in the backup: restores to a given moment reach from it on. */
  readonly endedAt: string;
  readonly keyFingerprint: string;
  /** Null: the database is a server of the operator's own, whose backups are made elsewhere. */
  readonly cluster: ClusterFacts | null;
  /** Of the data folder. */
  readonly files: readonly StoredFile[];
}

/** The moment that a backup holds without any log. */
export const momentOf = ({ completeUntil, startedAt }: Manifest): Date =>
  new Date(completeUntil ?? startedAt);

export const BACKUPS = 'backups/';
export const folderOf = (id: string): string => `${BACKUPS}${id}/`;
const manifestOf = (id: string): string => `${folderOf(id)}manifest.json`;
const verifiedOf = (id: string): string => `${folderOf(id)}verified.json`;

export async function writeManifest(target: BackupTarget, key: BackupKey, manifest: Manifest): Promise<void> {
  await target.put(manifestOf(manifest.id), signed(key, manifest));
}

/** Refuses a manifest that was changed, or that another key has signed. */
export async function readManifest(target: BackupTarget, key: BackupKey, id: string): Promise<Manifest> {
  const name = manifestOf(id);
  const bytes = await target.get(name);
  if (bytes === null) throw new BackupError(`There is no backup ${id} in ${target.place}.`);
  const manifest = verified(key, name, bytes, id) as Manifest;
  const outside = manifest.files.find(({ path }) => leadsOutside(path));
  if (outside !== undefined) throw new DamagedObject(name, `${outside.path} lies outside of the backup.`);
  return manifest;
}

/** A backup was restored and examined at this time. */
export interface VerifiedMark {
  readonly at: string;
  readonly moment: string;
}

export const markVerified = (
  target: BackupTarget,
  key: BackupKey,
  id: string,
  mark: VerifiedMark,
): Promise<void> => target.put(verifiedOf(id), signed(key, { ...mark, id, keyFingerprint: key.fingerprint }));

export async function readVerified(
  target: BackupTarget,
  key: BackupKey,
  id: string,
): Promise<VerifiedMark | null> {
  const bytes = await target.get(verifiedOf(id));
  return bytes === null ? null : (verified(key, verifiedOf(id), bytes, id) as VerifiedMark);
}

/** Two lines: the content, and a signature over the first. */
function signed(key: BackupKey, content: object): Buffer {
  const line = JSON.stringify(content);
  return Buffer.from(`${line}\n${JSON.stringify({ signature: key.sign(line) })}\n`);
}

function verified(key: BackupKey, name: string, bytes: Buffer, id: string): unknown {
  const [line = '', second = ''] = bytes.toString('utf8').split('\n');
  const [content, signature] = [parsed(line), parsed(second)];
  if (!isObject(content) || !isObject(signature)) throw new DamagedObject(name, 'it cannot be read.');
  const { keyFingerprint, format } = content;
  if (typeof keyFingerprint === 'string' && keyFingerprint !== key.fingerprint)
    throw otherKey(name, keyFingerprint, key);
  if (signature['signature'] !== key.sign(line))
    throw new DamagedObject(name, 'its signature does not hold.');
  if (content['id'] !== id)
    throw new DamagedObject(name, `it belongs to the backup ${JSON.stringify(content['id'])}.`);
  // Only manifests have a format, and the signature does not cover the name of the object.
  if ((format === undefined) === (name === manifestOf(id)))
    throw new DamagedObject(name, 'it is another object of this backup.');
  if (format !== undefined && format !== FORMAT)
    throw new BackupError(
      `${name} was written by a later version of the product (format ${JSON.stringify(format)}).`,
    );
  return content;
}

function parsed(line: string): unknown {
  try {
    return parseJsonText(line);
  } catch {
    return null;
  }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;
