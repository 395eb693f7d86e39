import type { UserName } from '../../identity';
import type {
  BadgeModel,
  FieldModel,
  LabelledFigure,
  LinkModel,
  PagerModel,
  TableModel,
  TabsModel,
  Translate,
} from '../../views';
import { choicesOf } from './choices';

export interface ActModel {
  readonly id: string;
  readonly label: string;
  readonly value?: string;
  readonly badge?: BadgeModel;
  readonly action: string;
  /** Set for forms that only select what a page shows; other forms change something. */
  readonly method?: 'get';
  readonly fields: readonly FieldModel[];
  readonly hidden: readonly { readonly name: string; readonly value: string }[];
  readonly submit: string;
  readonly danger?: boolean;
  readonly note?: string;
  readonly open?: boolean;
  /** Reason for refusing the change; the form is then omitted. */
  readonly refusal?: string;
}

export interface SectionModel {
  readonly id: string;
  /** Omitted if it would repeat the section's only act. */
  readonly heading?: string;
  readonly scope?: string;
  readonly facts?: readonly LabelledFigure[];
  readonly table?: TableModel;
  readonly acts?: readonly ActModel[];
}

/** View model of `views/pages/admin/object.hbs`: one object with its attributes and the available changes. */
export interface ObjectPageModel {
  readonly page: {
    readonly heading: string;
    readonly scope: string;
    readonly crumb?: LinkModel;
    readonly actions?: readonly LinkModel[];
    readonly tabs?: TabsModel;
    readonly sections: readonly SectionModel[];
  };
  readonly pager?: PagerModel;
}

export type ActInput = Omit<ActModel, 'hidden' | 'submit' | 'fields'> & {
  readonly fields?: readonly FieldModel[];
  readonly version?: number;
  readonly submit?: string;
  readonly withoutReason?: boolean;
  readonly hidden?: ActModel['hidden'];
};

export function actOf({ version, withoutReason, ...act }: ActInput, translate: Translate): ActModel {
  const reason: FieldModel = {
    id: `${act.id}-reason`,
    name: 'reason',
    label: translate('administration.reason'),
    optional: true,
    autocomplete: 'off',
  };
  return {
    ...act,
    fields: [...(act.fields ?? []), ...(withoutReason === true ? [] : [reason])],
    hidden: [
      ...(act.hidden ?? []),
      ...(version === undefined ? [] : [{ name: 'version', value: String(version) }]),
    ],
    submit: act.submit ?? translate('administration.save'),
  };
}

/** Field for a user by email address, with suggestions; an organisation can have any number of users. */
export const userField = (
  field: Pick<FieldModel, 'id' | 'name' | 'label' | 'help' | 'required' | 'optional' | 'placeholder'>,
  users: readonly UserName[],
  selectedEmail: string | null,
): FieldModel => ({
  ...field,
  type: 'email',
  autocomplete: 'off',
  ...(selectedEmail === null ? {} : { value: selectedEmail }),
  suggestions: users.map(({ email, name }) => ({ value: email, label: name })),
});

export const pickerOf = (
  field: Pick<FieldModel, 'id' | 'name' | 'label' | 'help'>,
  names: readonly { readonly id: number; readonly name: string }[],
  selectedId: number | null,
  none: string | null,
): FieldModel => ({
  ...field,
  type: 'select',
  options: [
    ...(none === null ? [] : [{ value: '', label: none, selected: selectedId === null }]),
    ...names.map(({ id, name }) => ({ value: String(id), label: name, selected: id === selectedId })),
  ],
});

export const confirmationField = (phrase: string, translate: Translate): FieldModel => ({
  id: 'confirmation',
  name: 'confirmation',
  label: translate('confirm.type', { phrase }),
  required: true,
  autocomplete: 'off',
});

export const flagField = (name: string, label: string, value: boolean, translate: Translate): FieldModel => ({
  id: name,
  name,
  type: 'select',
  label,
  options: choicesOf(['true', 'false'], String(value), (choice) =>
    translate(choice === 'true' ? 'administration.yes' : 'administration.no'),
  ),
});
