import type { PriceRates } from '../../../kernel';
import type { Wire } from '../../../vendors';
import type { ProviderView } from '../../views';
import type { ModelValues } from '../../entities';
import type { Place } from './file-fault';
import type { DesiredKey } from './read-keys';

/** A file asks for this. Optional parts that it leaves out are left alone. */
export interface Desired {
  readonly providers: readonly DesiredProvider[];
  readonly models: readonly DesiredModel[];
  readonly aliases: readonly DesiredAlias[];
  readonly organisations: readonly DesiredOrganisation[];
  readonly keys: readonly DesiredKey[];
  /** A key is removed when the file once kept it and no longer lists it. */
  readonly managesKeys: boolean;
}

export interface DesiredProvider extends Omit<ProviderView, 'id'> {
  readonly at: Place;
  /** Its style cannot do without a secret. */
  readonly needsSecret: boolean;
  readonly credentials: readonly DesiredCredential[];
}

/** A secret of a supplier: one text, or the parts that its kind has. */
export type SecretValue =
  | { readonly kind: 'bearer' | 'header'; readonly parts: string }
  | {
      readonly kind: 'sigv4' | 'oauth-pool' | 'client-certificate';
      readonly parts: Readonly<Record<string, string>>;
    };

export interface DesiredCredential {
  readonly at: Place;
  readonly label: string;
  readonly secret: SecretValue;
}

export interface DesiredModel extends ModelValues {
  readonly at: Place;
  readonly name: string;
  readonly redirect: DesiredLink | null;
  readonly overflow: DesiredLink | null;
  readonly lanes: readonly DesiredLane[];
  readonly price: DesiredPrice | null;
  readonly schedules: readonly DesiredSchedule[] | null;
}

/** Another model is named here. */
export interface DesiredLink {
  readonly at: Place;
  readonly target: string;
}

export interface DesiredLane {
  readonly at: Place;
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
  readonly at: Place;
  readonly rates: PriceRates;
}

export interface DesiredSchedule {
  readonly at: Place;
  readonly startsAt: Date;
  readonly endsAt: Date | null;
  readonly rates: PriceRates;
}

export interface DesiredAlias {
  readonly at: Place;
  readonly name: string;
  readonly model: string;
}

export interface DesiredOrganisation {
  readonly at: Place;
  readonly slug: string;
  /** Null means every region. Left out: as it is. */
  readonly regions: readonly string[] | null | undefined;
  readonly access: readonly DesiredAccess[];
  readonly departments: readonly DesiredDepartment[];
}

interface DesiredDepartment {
  readonly at: Place;
  readonly name: string;
  readonly access: readonly DesiredAccess[];
}

export interface DesiredAccess {
  readonly at: Place;
  readonly model: string;
  readonly allowed: boolean;
}
