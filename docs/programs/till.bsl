// The answer to a task of the register, asked with the same tag until it is clear.
Function Fiscal(Tag, Task)
	Body = New Structure("ver, device, tag, type, fiscal", 6, "test", Tag, 1, Task);
	Writer = New JSONWriter;
	Writer.SetString();
	WriteJSON(Writer, Body);
	Text = Writer.Close();
	Until = CurrentUniversalDateInMilliseconds() + 90000;
	While True Do
		Why = "";
		Try
			Connection = New HTTPConnection("localhost", 3939, , , , 20);
			Request = New HTTPRequest("/dm/execute");
			Request.Headers.Insert("Content-Type", "application/json");
			Request.SetBodyFromString(Text);
			Response = Connection.Post(Request);
			Reader = New JSONReader;
			Reader.SetString(Response.GetBodyAsString());
			Answer = ReadJSON(Reader);
			If Answer.res_action = 0 Or Answer.res_action = 3 Then
				Return Answer;
			EndIf;
			Why = Answer.errortxt;
		Except
			Why = BriefErrorDescription(ErrorInfo()); // no answer, a broken one, none of ours
		EndTry;
		If CurrentUniversalDateInMilliseconds() > Until Then
			Raise "Not clear yet, keep the tag " + Tag + ": " + Why;
		EndIf;
		// The platform has no sleep on a server: ping lets a second pass.
		#If Server Then
			RunApp("ping -n 2 127.0.0.1", , True);
		#EndIf
	EndDo;
EndFunction

Procedure Sell(OrderID) Export
	Opened = Fiscal("open-" + Format(CurrentDate(), "DF=yyyyMMdd"), New Structure("task, cashier", 0, "Olena"));
	If Opened.res <> 0 And Opened.res <> 1096 Then
		Raise Opened.errortxt;
	EndIf;
	Row = New Structure("code, name, cnt, price, taxgrp", "7", "Чай, кг", 0.125, 333.60, 1);
	Rows = New Array;
	Rows.Add(Row);
	Pays = New Array;
	Pays.Add(New Structure("type, sum", 0, 50));
	Receipt = New Structure("sum, rows, pays", 41.70, Rows, Pays);
	Sold = Fiscal(OrderID, New Structure("task, cashier, receipt", 1, "Olena", Receipt));
	If Sold.res <> 0 Then
		Raise Sold.errortxt;
	EndIf;
	Message(Sold.info.doccode);
EndProcedure
