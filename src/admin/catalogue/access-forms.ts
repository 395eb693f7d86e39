import { POLICY_MODES, type PolicyMode } from '../../catalogue';
import { rowId } from '../../kernel';
import { IsIn, IsOptional, Takes } from '../../platform';
import { Flag, Line, Whole, Words } from './fields';
import { NAME, VersionedForm } from './forms';

export class ToggleForm extends VersionedForm {
  @Line(NAME)
  model: string;

  @Flag()
  enabled: boolean;

  /** Without it, the actor's own organisation is meant, or the one that the administration's view shows. */
  @IsOptional()
  @Whole(1, 2_147_483_647)
  org_id?: number;
}

export class OrganisationGrantForm extends VersionedForm {
  @Line(NAME)
  model: string;

  @Whole(1, 2_147_483_647)
  org_id: number;

  @Flag()
  allowed: boolean;
}

export class PolicyForm extends VersionedForm {
  @IsOptional()
  @Whole(1, 2_147_483_647)
  org_id?: number;

  @IsIn(POLICY_MODES)
  mode: PolicyMode;

  @IsOptional()
  @Words(500)
  patterns?: string[];
}

export class OrganisationQuery {
  @Takes(rowId.orBlank())
  org_id?: number;
}

/** Names of models to open and to close; `allowed_only` closes all that are not named. */
export class DepartmentAccessForm extends VersionedForm {
  @IsOptional()
  @Words(5_000)
  allowed?: string[];

  @IsOptional()
  @Words(5_000)
  blocked?: string[];

  @IsOptional()
  @Flag()
  allowed_only?: boolean;
}
