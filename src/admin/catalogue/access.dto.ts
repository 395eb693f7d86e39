import { POLICY_MODES, type PolicyMode } from '../../catalogue';
import { IsIn, IsOptional, IsCheckbox, IsIntBetween, IsLine, IsRowId, IsTextList } from '../../web';
import { MAX_NAME_LENGTH, VersionedForm } from './catalogue.dto';

export class ToggleForm extends VersionedForm {
  @IsLine(MAX_NAME_LENGTH)
  model: string;

  @IsCheckbox()
  enabled: boolean;

  /** Defaults to the organisation chosen in the administration's view, or the actor's own. */
  @IsOptional()
  @IsIntBetween(1, 2_147_483_647)
  org_id?: number;
}

export class OrganisationGrantForm extends VersionedForm {
  @IsLine(MAX_NAME_LENGTH)
  model: string;

  @IsIntBetween(1, 2_147_483_647)
  org_id: number;

  @IsCheckbox()
  allowed: boolean;
}

export class PolicyForm extends VersionedForm {
  @IsOptional()
  @IsIntBetween(1, 2_147_483_647)
  org_id?: number;

  @IsIn(POLICY_MODES)
  mode: PolicyMode;

  @IsOptional()
  @IsTextList(500)
  patterns?: string[];
}

export class OrganisationQuery {
  @IsRowId({ optional: true })
  org_id?: number;
}

/** Models to allow and to block; `allowed_only` blocks every model that is not listed. */
export class DepartmentAccessForm extends VersionedForm {
  @IsOptional()
  @IsTextList(5_000)
  allowed?: string[];

  @IsOptional()
  @IsTextList(5_000)
  blocked?: string[];

  @IsOptional()
  @IsCheckbox()
  allowed_only?: boolean;
}
