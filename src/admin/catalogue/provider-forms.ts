import { lines } from '../../kernel';
import { IsIn, IsOptional, Takes } from '../../platform';
import { type OperationName, PROBED_OPERATIONS } from '../../routing';
import { IfGiven } from '../../web';
import { Flag, Line, LineOrNone, Secret, Settings, Whole, Words } from './fields';
import { FromPage, VersionedForm } from './forms';

export class ProviderForm extends VersionedForm {
  @IfGiven()
  @Line(120)
  name?: string;

  @IsOptional()
  @Line(64)
  style?: string;

  @IsOptional()
  @Line(2_048)
  base_url?: string;

  @IsOptional()
  @Words(64, 64)
  regions?: string[];

  /** The supplier's adapter reads these settings, which are peculiar to it. */
  @IsOptional()
  @Settings()
  settings?: Record<string, unknown>;

  @IsOptional()
  @Settings()
  timeouts?: Record<string, unknown>;

  @IsOptional()
  @Settings()
  breaker?: Record<string, unknown>;

  /** Write-only: a key, or an object where the credential has several parts. */
  @Secret()
  secret?: unknown;

  /** Write-only, both in PEM: a certificate of ours for this supplier, with its key. */
  @Takes(lines(65_536).orNone())
  client_certificate?: string | null;

  @Takes(lines(65_536).orNone())
  client_key?: string | null;

  @LineOrNone(120)
  secret_label?: string | null;
}

export class VisibilityForm extends FromPage {
  @Flag()
  visible: boolean;
}

export class ProbeForm extends ProviderForm {
  /** A stored provider: what is left out is taken from it. */
  @IsOptional()
  @Whole(1, 2_147_483_647)
  provider_id?: number | null;

  @Line(256)
  upstream_model: string;

  @LineOrNone(64)
  region?: string | null;

  @IsOptional()
  @IsIn([...PROBED_OPERATIONS, ''])
  operation?: OperationName | '';
}
