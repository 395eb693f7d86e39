import { type OperationName, PROBED_OPERATIONS } from '../../routing';
import {
  IsIn,
  IsOptional,
  IfPresent,
  IsCheckbox,
  IsIntBetween,
  IsLine,
  IsMultilineText,
  IsProviderSecret,
  IsSettingsObject,
  IsTextList,
} from '../../web';
import { FromPage, VersionedForm } from './catalogue.dto';

export class ProviderForm extends VersionedForm {
  @IfPresent()
  @IsLine(120)
  name?: string;

  @IsOptional()
  @IsLine(64)
  style?: string;

  @IsOptional()
  @IsLine(2_048)
  base_url?: string;

  @IsOptional()
  @IsTextList(64, 64)
  regions?: string[];

  @IsOptional()
  @IsSettingsObject()
  settings?: Record<string, unknown>;

  @IsOptional()
  @IsSettingsObject()
  timeouts?: Record<string, unknown>;

  @IsOptional()
  @IsSettingsObject()
  breaker?: Record<string, unknown>;

  /** Write-only: a key, or an object if the credential has several parts. */
  @IsProviderSecret()
  secret?: unknown;

  /** Write-only client certificate for this supplier with its key, both in PEM. */
  @IsMultilineText(65_536, { clearable: true })
  client_certificate?: string | null;

  @IsMultilineText(65_536, { clearable: true })
  client_key?: string | null;

  @IsLine(120, { clearable: true })
  secret_label?: string | null;
}

export class VisibilityForm extends FromPage {
  @IsCheckbox()
  visible: boolean;
}

export class ProbeForm extends ProviderForm {
  @IsOptional()
  @IsIntBetween(1, 2_147_483_647)
  provider_id?: number | null;

  @IsLine(256)
  upstream_model: string;

  @IsLine(64, { clearable: true })
  region?: string | null;

  @IsOptional()
  @IsIn([...PROBED_OPERATIONS, ''])
  operation?: OperationName | '';
}
