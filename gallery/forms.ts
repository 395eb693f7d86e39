import type {
  ChecklistPickerModel,
  ConfirmModel,
  FieldModel,
  FilterBarModel,
  MoneyFieldModel,
  SecretOnceModel,
  SnippetTabsModel,
} from '../src/views';

export interface GalleryForms {
  filter: FilterBarModel;
  fields: FieldModel[];
  moneyFields: MoneyFieldModel[];
  pickers: ChecklistPickerModel[];
  secret: SecretOnceModel;
  snippets: SnippetTabsModel;
  confirms: ConfirmModel[];
}

const filter: FilterBarModel = {
  label: 'Filter requests',
  action: '/dev/components',
  hidden: [{ name: 'days', value: '30' }],
  fields: [
    {
      ...{ id: 'filter-text', name: 'q', label: 'Request or session', type: 'search', width: 'wide' },
      ...{ filterKey: true, placeholder: 'id' },
    },
    {
      ...{ id: 'filter-model', name: 'model', label: 'Model', type: 'select' },
      options: [
        { value: '', label: 'All models' },
        { value: 'claude-sonnet', label: 'claude-sonnet', selected: true },
      ],
    },
    {
      ...{ id: 'filter-status', name: 'status', label: 'Status', type: 'select' },
      options: [
        { value: '', label: 'Any' },
        { value: 'failed', label: 'Failed' },
      ],
    },
    { id: 'filter-moved', name: 'moved', label: 'Moved only', type: 'checkbox' },
  ],
  clearHref: '/dev/components',
};

const fields: FieldModel[] = [
  {
    ...{ id: 'name', name: 'name', label: 'Name', value: 'ci-pipeline', autocomplete: 'off', required: true },
    help: 'Shown in logs and invoices.',
  },
  {
    ...{
      id: 'email',
      name: 'email',
      label: 'Email',
      type: 'email',
      value: 'anna@acme',
      autocomplete: 'email',
    },
    error: 'Write the whole address, such as anna@acme.example.',
  },
  { id: 'password', name: 'password', label: 'Password', type: 'password', autocomplete: 'current-password' },
  {
    ...{ id: 'project', name: 'project', label: 'Project', type: 'select' },
    options: [
      { value: 'web', label: 'Web', selected: true },
      { value: 'data', label: 'Data' },
    ],
  },
  { id: 'note', name: 'note', label: 'Note', type: 'textarea', rows: 3, optional: true },
  {
    id: 'role',
    name: 'role',
    label: 'Role',
    value: 'Owner',
    disabled: true,
    help: 'Only an owner can change it.',
  },
  { id: 'alerts', name: 'alerts', label: 'Tell me at 80% of the budget', type: 'checkbox', checked: true },
];

const moneyFields: MoneyFieldModel[] = [
  {
    ...{ id: 'budget', name: 'budget', label: 'Budget', value: '20.00' },
    period: {
      name: 'period',
      options: [
        { value: 'daily', label: 'a day' },
        { value: 'monthly', label: 'a month', selected: true },
      ],
    },
    help: 'Stops after $20.00 a month; resets on the 1st, 00:00 UTC.',
  },
  {
    ...{ id: 'credit', name: 'credit', label: 'Credit', value: '2', required: true },
    error: 'The smallest amount is $5.00.',
  },
];

const pickers: ChecklistPickerModel[] = [
  {
    ...{ legend: 'Models', name: 'models', modeName: 'models-mode', searchId: 'models-search' },
    modes: [
      { value: 'all', label: 'All models' },
      { value: 'chosen', label: 'Only these', checked: true },
    ],
    groups: [
      {
        label: 'bedrock',
        items: [
          { value: 'claude-sonnet', label: 'claude-sonnet', checked: true, note: '$3.00 / $15.00' },
          { value: 'claude-haiku', label: 'claude-haiku', note: '$0.80 / $4.00' },
        ],
      },
      {
        label: 'azure',
        items: [{ value: 'gpt-large', label: 'gpt-large', checked: true, note: '$2.50 / $10.00' }],
      },
    ],
  },
  {
    ...{ legend: 'Regions', name: 'regions', help: 'A call never leaves the regions of its key.' },
    groups: [
      {
        items: [
          { value: 'eu', label: 'European Union', checked: true },
          { value: 'us', label: 'United States' },
        ],
      },
    ],
  },
];

const confirms: ConfirmModel[] = [
  {
    ...{ id: 'revoke', heading: 'Revoke key', subject: 'ci (svc_ab12…9f)', confirmLabel: 'Revoke' },
    consequence: 'Stops 3 callers of the last hour at once. A revoked key never works again.',
    action: '/dev/components',
    hidden: [{ name: 'key', value: 'ci' }],
  },
  {
    ...{ id: 'delete', heading: 'Delete organisation', subject: 'Acme Labs', confirmLabel: 'Delete' },
    consequence: 'Its 4 keys stop now. Invoices and the audit log are kept.',
    action: '/dev/components',
    phrase: 'delete acme-labs',
  },
];

export function galleryForms(snippets: SnippetTabsModel): GalleryForms {
  return {
    ...{ filter, fields, moneyFields, pickers, confirms, snippets },
    secret: {
      id: 'new-key',
      heading: 'Copy your key now',
      secret: 'svc_EXAMPLE_not_a_real_key_0000000000000000',
      environmentName: 'SVC_API_KEY',
      snippets: { ...snippets, id: 'new-key-snippets' },
      doneHref: '/dev/components',
    },
  };
}
