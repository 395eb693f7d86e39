import { Type } from 'class-transformer';
import { thumbs } from '../../quality';
import {
  ArrayMaxSize,
  IsArray,
  IsBase64,
  IsIn,
  IsNotEmpty,
  IsOptional,
  IsString,
  IsUUID,
  MaxLength,
  ValidateNested,
  IsCursor,
  IsBooleanText,
  IsVerbatimLine,
  MatchesFormat,
} from '../../web';

export const verdicts = [...thumbs, 'none'] as const;
export const fileTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'text/plain'] as const;
const MAX_FILES = 4;
/** Base64 adds a third to the size of a file. */
const MAX_FILE_LENGTH = 5_600_000;
const MAX_MESSAGE_LENGTH = 200_000;
/** Fits a message with the maximum number of files of maximum size. */
export const MAX_TURN_BYTES = MAX_FILES * MAX_FILE_LENGTH + 2_000_000;
const MAX_TITLE_LENGTH = 120;
const MAX_MODEL_LENGTH = 256;

export class ConversationListQuery {
  @IsCursor()
  cursor?: string;
}

export class WebchatQuery {
  @IsCursor()
  cursor?: string;

  /** Cursor of the conversation list next to the thread. */
  @IsCursor()
  list?: string;

  /** Searches the titles of the list. */
  @IsVerbatimLine(100, { optional: true })
  q?: string;
}

/** Rates a reply; `none` removes the rating. */
export class AnswerFeedbackForm {
  @MatchesFormat(/^[1-9]\d{0,17}$/, 'the id of a message, in digits')
  message: string;

  @IsIn(verdicts)
  verdict: (typeof verdicts)[number];
}

export class NewConversationForm {
  @IsVerbatimLine(MAX_TITLE_LENGTH, { optional: true })
  title?: string;

  @IsOptional()
  @IsString()
  @MaxLength(MAX_MODEL_LENGTH)
  model?: string;
}

export class FirstMessageForm {
  @IsOptional()
  @IsString()
  @MaxLength(MAX_MODEL_LENGTH)
  model?: string;

  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_MESSAGE_LENGTH)
  content: string;
}

export class ConversationModelForm {
  @IsString()
  @IsNotEmpty()
  @MaxLength(MAX_MODEL_LENGTH)
  model: string;
}

export class ConversationTitleForm {
  @IsVerbatimLine(MAX_TITLE_LENGTH)
  title: string;
}

export class AttachmentForm {
  @IsString()
  @IsNotEmpty()
  @MaxLength(200)
  name: string;

  @IsIn(fileTypes)
  type: (typeof fileTypes)[number];

  @IsString()
  @MaxLength(MAX_FILE_LENGTH)
  @IsBase64()
  data: string;
}

export class ChatTurnForm {
  @IsOptional()
  @IsString()
  @MaxLength(MAX_MESSAGE_LENGTH)
  content?: string;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MAX_FILES)
  @ValidateNested({ each: true })
  @Type(() => AttachmentForm)
  attachments?: AttachmentForm[];

  /** Idempotency key of the client: a turn sent twice runs once. */
  @IsOptional()
  @IsUUID()
  turn?: string;

  @IsOptional()
  @IsBooleanText()
  stream?: boolean;

  /** Sends the last message again, as a new request. */
  @IsOptional()
  @IsBooleanText()
  retry?: boolean;
}
