import { IfGiven } from '../../web';
import {
  ChangeForm,
  IsChoice,
  IsDollars,
  IsId,
  IsIdOrNone,
  IsLine,
  IsPerson,
  ListQuery,
  type PersonName,
} from '../pages/fields';

export class ProjectParams {
  @IsId()
  project_id: number;
}

export class MemberParams extends ProjectParams {
  @IsId()
  user_id: number;
}

export class ProjectListQuery extends ListQuery {
  @IsIdOrNone()
  org_id?: number | null;

  @IsChoice(['active', 'archived'])
  state?: 'active' | 'archived' | null;
}

export class NewProjectForm {
  @IsLine(100)
  name: string;

  @IsIdOrNone()
  org_id?: number | null;

  @IsDollars()
  monthly_budget?: string | null;
}

export class ProjectForm extends ChangeForm {
  @IfGiven()
  @IsLine(100)
  name?: string;

  @IsPerson()
  billing_user_id?: PersonName | null;

  @IsDollars()
  monthly_budget?: string | null;
}

export class MemberForm extends ChangeForm {
  @IsPerson()
  user_id?: PersonName | null;
}
