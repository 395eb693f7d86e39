import { IfPresent } from '../../web';
import {
  ChangeForm,
  IsChoice,
  IsDollars,
  IsId,
  IsIdOrNone,
  IsLine,
  IsUserReference,
  AdminListQuery,
  type UserReference,
} from '../pages/fields';

export class ProjectParams {
  @IsId()
  project_id: number;
}

export class MemberParams extends ProjectParams {
  @IsId()
  user_id: number;
}

export class ProjectListQuery extends AdminListQuery {
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
  @IfPresent()
  @IsLine(100)
  name?: string;

  @IsUserReference()
  billing_user_id?: UserReference | null;

  @IsDollars()
  monthly_budget?: string | null;
}

export class MemberForm extends ChangeForm {
  @IsUserReference()
  user_id?: UserReference | null;
}
