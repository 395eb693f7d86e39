import { Transform, Type } from 'class-transformer';
import { line } from '../../kernel';
import {
  ArrayMaxSize,
  IsArray,
  IsBase64,
  IsBoolean,
  IsIn,
  IsNotEmpty,
  IsOptional,
  IsString,
  IsUUID,
  Matches,
  MaxLength,
  Takes,
  ValidateNested,
} from '../../platform';
import { thumbs } from '../../quality';
import { IsCursor } from '../../web';

export const verdicts = [...thumbs, 'none'] as const;
export const fileTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'text/plain'] as const;
const MOST_FILES = 4;
/** A file in base64 has a third more than its bytes. */
const LONGEST_FILE = 5_600_000;
const LONGEST_MESSAGE = 200_000;
/** A message with as many and as large files as it may have. */
export const LARGEST_TURN_BYTES = MOST_FILES * LONGEST_FILE + 2_000_000;
const LONGEST_TITLE = 120;
const LONGEST_MODEL = 256;

/** Forms send words; programs send what they mean. */
const Flag = (): PropertyDecorator =>
  Transform(({ value }: { value: unknown }) => (value === 'true' ? true : value === 'false' ? false : value));

export class ConversationListQuery {
  @IsCursor()
  cursor?: string;
}

export class WebchatQuery {
  @IsCursor()
  cursor?: string;

  /** It is a cursor of the list of conversations beside the thread. */
  @IsCursor()
  list?: string;

  /** The list searches titles for these words. */
  @Takes(line(100).orBlank())
  q?: string;
}

/** A person judges an answer with this form; `none` takes it back. */
export class AnswerFeedbackForm {
  @Matches(/^[1-9]\d{0,17}$/, 'the id of a message, in digits')
  message: string;

  @IsIn(verdicts)
  verdict: (typeof verdicts)[number];
}

export class NewConversationForm {
  @Takes(line(LONGEST_TITLE).orBlank())
  title?: string;

  @IsOptional()
  @IsString()
  @MaxLength(LONGEST_MODEL)
  model?: string;
}

/** A conversation and its first message in one step. */
export class FirstMessageForm {
  @IsOptional()
  @IsString()
  @MaxLength(LONGEST_MODEL)
  model?: string;

  @IsString()
  @IsNotEmpty()
  @MaxLength(LONGEST_MESSAGE)
  content: string;
}

export class ConversationModelForm {
  @IsString()
  @IsNotEmpty()
  @MaxLength(LONGEST_MODEL)
  model: string;
}

export class ConversationTitleForm {
  @Takes(line(LONGEST_TITLE))
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
  @MaxLength(LONGEST_FILE)
  @IsBase64()
  data: string;
}

export class ChatTurnForm {
  @IsOptional()
  @IsString()
  @MaxLength(LONGEST_MESSAGE)
  content?: string;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(MOST_FILES)
  @ValidateNested({ each: true })
  @Type(() => AttachmentForm)
  attachments?: AttachmentForm[];

  /** The sender's own name of the turn: sent twice, it is carried out once. */
  @IsOptional()
  @IsUUID()
  turn?: string;

  @IsOptional()
  @Flag()
  @IsBoolean()
  stream?: boolean;

  /** Asks the last question again, as a new request. */
  @IsOptional()
  @Flag()
  @IsBoolean()
  retry?: boolean;
}
