import type { FormsContext } from './forms';

/** Every page is in one of these languages. */
export const locales = ['en', 'de', 'fr', 'it', 'es'] as const;
export type Locale = (typeof locales)[number];
type Theme = 'system' | 'light' | 'dark';

interface NavigationItem {
  label: string;
  href: string;
  icon: string;
  current?: boolean;
}

export interface NavigationGroup {
  /** It is absent for the first group, which needs no heading. */
  label?: string;
  items: NavigationItem[];
}

interface Viewer {
  name: string;
  email: string;
  organisation?: string;
}

/** It is shown as a coloured strip while an administrator views the pages of another account. */
export interface AdminStrip {
  organisation: string;
  leaveAction: string;
  /** The view may be narrowed to one of these, where that is a choice. */
  organisations?: { value: string; label: string; selected: boolean }[];
}

export interface ViewContext {
  locale: Locale;
  timeZone: string;
  theme: Theme;
  /** Single letters without Ctrl are shortcuts. */
  hasShortcuts: boolean;
  /** The page's own path and query: links built by `url` start from them. */
  path: string;
  query: Readonly<Record<string, string>>;
  requestId: string;
  /** The value that marks elements on which htmx acts. Others cannot know it, as it belongs to the session. */
  hostMark: string;
  /** It stands in place of the installation's own name and look. */
  brand?: { name: string; logo?: string; styleSheet?: string };
  baseUrl: string;
  /** It is true for an htmx swap: the view is rendered without its layouts. */
  fragment: boolean;
  /** The browser brings a session, which may have ended. Public pages then lead to the dashboard. */
  hasSession: boolean;
  viewer?: Viewer;
  navigation?: NavigationGroup[];
  adminStrip?: AdminStrip;
  /** The administration's view may be opened from here. */
  mayAdminister?: boolean;
  helpHref?: string;
  /** The version of the terms that waits to be accepted. */
  terms?: string;
  /** They are shown once, after a change. */
  notices?: { tone: 'ok' | 'warn' | 'bad' | 'info'; text: string }[];
  /** It is absent where a form leads nowhere, such as in mails. */
  forms?: FormsContext;
}

export function isLocale(value: unknown): value is Locale {
  return locales.some((locale) => locale === value);
}

export function defaultViewContext(overrides: Partial<ViewContext> = {}): ViewContext {
  return {
    locale: 'en',
    timeZone: 'UTC',
    theme: 'system',
    hasShortcuts: true,
    path: '/',
    query: {},
    requestId: '',
    hostMark: '',
    baseUrl: '',
    fragment: false,
    hasSession: false,
    ...overrides,
  };
}
