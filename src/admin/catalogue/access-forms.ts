import { POLICY_MODES, type PolicyMode } from '../../catalogue';
import { rowId } from '../../kernel';
import { IsIn, IsOptional, ParsedBy } from '../../platform';
import { Flag, Line, Integer, TextList } from './fields';
import { MAX_NAME_LENGTH, VersionedForm } from './forms';

export class ToggleForm extends VersionedForm {
  @Line(MAX_NAME_LENGTH)
  model: string;

  @Flag()
  enabled: boolean;

  /** Defaults to the organisation chosen in the administration's view, or the actor's own. */
  @IsOptional()
  @Integer(1, 2_147_483_647)
  org_id?: number;
}

export class OrganisationGrantForm extends VersionedForm {
  @Line(MAX_NAME_LENGTH)
  model: string;

  @Integer(1, 2_147_483_647)
  org_id: number;

  @Flag()
  allowed: boolean;
}

export class PolicyForm extends VersionedForm {
  @IsOptional()
  @Integer(1, 2_147_483_647)
  org_id?: number;

  @IsIn(POLICY_MODES)
  mode: PolicyMode;

  @IsOptional()
  @TextList(500)
  patterns?: string[];
}

export class OrganisationQuery {
  @ParsedBy(rowId.orBlank())
  org_id?: number;
}

/** Models to allow and to block; `allowed_only` blocks every model that is not listed. */
export class DepartmentAccessForm extends VersionedForm {
  @IsOptional()
  @TextList(5_000)
  allowed?: string[];

  @IsOptional()
  @TextList(5_000)
  blocked?: string[];

  @IsOptional()
  @Flag()
  allowed_only?: boolean;
}
