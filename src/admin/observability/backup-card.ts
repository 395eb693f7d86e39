import type { BackupState } from '../../backup';
import type { Settings } from '../../platform';
import type { BannerModel, TileModel, Translate } from '../../views';

export interface BackupCard {
  readonly tiles: readonly TileModel[];
}

export function backupCard(state: BackupState, translate: Translate): BackupCard | null {
  if (!state.isScheduled) return null;
  const time = (name: string, value: Date | null): TileModel => ({
    label: translate(`operations.backups.${name}`),
    figure: { kind: 'time', value },
  });
  return {
    tiles: [
      time('newest', state.newestAt),
      time('verified', state.verifiedAt),
      time('covered', state.coveredUntil),
      { label: translate('operations.backups.waiting'), figure: { kind: 'number', value: state.waiting } },
    ],
  };
}

/** Warns about failing backups, or about money in an embedded production database without backups. */
export function backupBanner(
  { isScheduled, trouble }: BackupState,
  { environment, databaseUrl, backupTarget }: Settings,
  translate: Translate,
): BannerModel | null {
  if (isScheduled && trouble !== null)
    return { tone: 'bad', title: translate('operations.backups.failing'), text: trouble };
  if (isScheduled || environment !== 'production' || databaseUrl !== undefined || backupTarget !== undefined)
    return null;
  return { tone: 'warn', text: translate('operations.backups.none') };
}
