import { multilineText } from '../../kernel';
import { IsIn, IsOptional, ParsedBy } from '../../platform';
import { type OperationName, PROBED_OPERATIONS } from '../../routing';
import { IfPresent } from '../../web';
import { Flag, Line, LineOrNone, Secret, SettingsObject, Integer, TextList } from './fields';
import { FromPage, VersionedForm } from './forms';

export class ProviderForm extends VersionedForm {
  @IfPresent()
  @Line(120)
  name?: string;

  @IsOptional()
  @Line(64)
  style?: string;

  @IsOptional()
  @Line(2_048)
  base_url?: string;

  @IsOptional()
  @TextList(64, 64)
  regions?: string[];

  @IsOptional()
  @SettingsObject()
  settings?: Record<string, unknown>;

  @IsOptional()
  @SettingsObject()
  timeouts?: Record<string, unknown>;

  @IsOptional()
  @SettingsObject()
  breaker?: Record<string, unknown>;

  /** Write-only: a key, or an object if the credential has several parts. */
  @Secret()
  secret?: unknown;

  /** Write-only client certificate for this supplier with its key, both in PEM. */
  @ParsedBy(multilineText(65_536).orNone())
  client_certificate?: string | null;

  @ParsedBy(multilineText(65_536).orNone())
  client_key?: string | null;

  @LineOrNone(120)
  secret_label?: string | null;
}

export class VisibilityForm extends FromPage {
  @Flag()
  visible: boolean;
}

export class ProbeForm extends ProviderForm {
  @IsOptional()
  @Integer(1, 2_147_483_647)
  provider_id?: number | null;

  @Line(256)
  upstream_model: string;

  @LineOrNone(64)
  region?: string | null;

  @IsOptional()
  @IsIn([...PROBED_OPERATIONS, ''])
  operation?: OperationName | '';
}
