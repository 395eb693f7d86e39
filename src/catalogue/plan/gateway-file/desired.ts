import type { PriceRates } from '../../../kernel';
import type { Wire } from '../../../vendors';
import type { ProviderView } from '../../views';
import type { ModelValues } from '../../entities';
import type { FilePosition } from './file-fault';
import type { DesiredKey } from './read-keys';

/** Catalogue that a file describes. Omitted optional parts stay unchanged. */
export interface DesiredCatalogue {
  readonly providers: readonly DesiredProvider[];
  readonly models: readonly DesiredModel[];
  readonly aliases: readonly DesiredAlias[];
  readonly organisations: readonly DesiredOrganisation[];
  readonly keys: readonly DesiredKey[];
  readonly managesKeys: boolean;
}

export interface DesiredProvider extends Omit<ProviderView, 'id'> {
  readonly at: FilePosition;
  readonly needsSecret: boolean;
  readonly credentials: readonly DesiredCredential[];
}

export type SecretValue =
  | { readonly kind: 'bearer' | 'header'; readonly parts: string }
  | {
      readonly kind: 'sigv4' | 'oauth-pool' | 'client-certificate';
      readonly parts: Readonly<Record<string, string>>;
    };

export interface DesiredCredential {
  readonly at: FilePosition;
  readonly label: string;
  readonly secret: SecretValue;
}

export interface DesiredModel extends ModelValues {
  readonly at: FilePosition;
  readonly name: string;
  readonly redirect: DesiredLink | null;
  readonly overflow: DesiredLink | null;
  readonly lanes: readonly DesiredLane[];
  readonly price: DesiredPrice | null;
  readonly schedules: readonly DesiredSchedule[] | null;
}

export interface DesiredLink {
  readonly at: FilePosition;
  readonly target: string;
}

export interface DesiredLane {
  readonly at: FilePosition;
  readonly provider: string;
  readonly upstreamModel: string;
  readonly region: string;
  readonly priority: number;
  readonly weight: number;
  readonly retries: number;
  readonly facts: string | null;
  readonly wire: Wire | null;
  readonly enabled: boolean;
  readonly price: DesiredPrice | null;
}

export interface DesiredPrice {
  readonly at: FilePosition;
  readonly rates: PriceRates;
}

export interface DesiredSchedule {
  readonly at: FilePosition;
  readonly startsAt: Date;
  readonly endsAt: Date | null;
  readonly rates: PriceRates;
}

export interface DesiredAlias {
  readonly at: FilePosition;
  readonly name: string;
  readonly model: string;
}

export interface DesiredOrganisation {
  readonly at: FilePosition;
  readonly slug: string;
  /** Null: every region; undefined: unchanged. */
  readonly regions: readonly string[] | null | undefined;
  readonly access: readonly DesiredAccess[];
  readonly departments: readonly DesiredDepartment[];
}

interface DesiredDepartment {
  readonly at: FilePosition;
  readonly name: string;
  readonly access: readonly DesiredAccess[];
}

export interface DesiredAccess {
  readonly at: FilePosition;
  readonly model: string;
  readonly allowed: boolean;
}
